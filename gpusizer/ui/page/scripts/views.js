// Shows one view below an answer: the one that comes first, until the visitor chooses another. Tells
// the stylesheet, too, whether the model reads or makes pictures: these have fields of their own.
{
  const page = document.querySelector('.gradio-container');
  let chosen = '';
  const show = () => {
    // An error keeps the fields of the last answer, among them the one that it names.
    const answer = element.querySelector('#gs-answer');
    if (answer) page.dataset.modelUse = answer.dataset.modelUse;
    const views = element.querySelector('.gs-views');
    if (!views) {
      delete page.dataset.view;
      return;
    }
    page.dataset.view = chosen || views.dataset.first;
    views.querySelectorAll('[data-view]').forEach(button => {
      button.setAttribute('aria-pressed', String(button.dataset.view === page.dataset.view));
    });
  };
  element.addEventListener('click', e => {
    const button = e.target.closest('.gs-views [data-view]');
    if (!button) return;
    chosen = button.dataset.view;
    show();
  });
  new MutationObserver(show).observe(element, {childList: true, subtree: true});
  show();
}
