// Labels the search field of a grid (its id, the label), which Gradio labels in English only.
(grid, label) => new MutationObserver(() => {
  const field = document.querySelector(`#${grid} [role=toolbar] input`);
  if (!field || field.placeholder === label) return;
  field.placeholder = field.title = label;
  field.setAttribute('aria-label', label);
}).observe(document.getElementById('gs-tabs'), {childList: true, subtree: true})
