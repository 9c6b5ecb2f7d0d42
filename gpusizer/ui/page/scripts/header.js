// The link past the form; folds tell whether they are open, which Gradio leaves out; the page is
// filled anew when the visitor goes back or forward; the document has the page's language and title,
// and a link to the page in the browser's language, if that is another one.
{
  const {lang, dataset} = element.querySelector('.gs-header');
  document.documentElement.lang = lang;
  document.title = dataset.title;
  const spoken = navigator.language.slice(0, 2);
  for (const hint of document.querySelectorAll(`[data-hint='${spoken}']`)) hint.hidden = false;
}
document.addEventListener('click', e => {
  const link = e.target.closest('.gs-skip');
  if (!link) return;
  e.preventDefault();  // the document has a base address, which another page has
  if (gsAsking.skip()) return;
  const part = document.querySelector(link.hash);
  if (!part) return;
  part.tabIndex = -1;
  part.focus();
  part.scrollIntoView();
});
const told = () => document.querySelectorAll('button.label-wrap').forEach(button => {
  const isOpen = String(button.classList.contains('open'));
  if (button.getAttribute('aria-expanded') !== isOpen) button.setAttribute('aria-expanded', isOpen);
});
new MutationObserver(told).observe(document.body, {
  childList: true, subtree: true, attributes: true, attributeFilter: ['class'],
});
told();
addEventListener('popstate', () => {
  if (gsAsking.isElsewhere()) trigger('input');
});
