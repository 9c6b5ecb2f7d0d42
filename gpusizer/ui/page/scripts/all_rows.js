// Lets the ranking scroll within its box, which holds the first rows until the visitor asks for all:
// until then the wheel and the finger scroll the page.
element.addEventListener('click', e => {
  if (!e.target.closest('button')) return;
  document.querySelector('.gradio-container').dataset.rows = 'all';
  document.querySelector('#gs-ranking-grid [role=grid]')?.focus();
});
