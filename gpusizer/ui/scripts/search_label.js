// Labels a grid's search field, which Gradio labels in English only.
new MutationObserver(() => {
  const field = document.querySelector('#GRID [role=toolbar] input');
  if (!field || field.placeholder === LABEL) return;
  field.placeholder = field.title = LABEL;
  field.setAttribute('aria-label', LABEL);
}).observe(document.getElementById('gs-tabs'), {childList: true, subtree: true});
