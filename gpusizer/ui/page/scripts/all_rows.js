// Asks for the GPUs behind the first ones and lets the ranking scroll within its box: until then the
// wheel and the finger scroll the page. Who sorts or searches the table means all of them.
const whole = () => {
  const page = document.querySelector('.gradio-container');
  if (page.dataset.rows === 'all') return;
  page.dataset.rows = 'all';
  wish('rows', 'all');
};
element.addEventListener('click', e => {
  if (!e.target.closest('button')) return;
  whole();
  document.querySelector('#gs-ranking-grid [role=grid]')?.focus();
});
// The table keeps clicks to itself.
document.addEventListener('focusin', e => {
  if (e.target.closest('#gs-ranking-grid [role=toolbar] input')) whole();
});
document.addEventListener('click', e => {
  if (e.target.closest('#gs-ranking-grid [role=columnheader]')) whole();
}, true);
