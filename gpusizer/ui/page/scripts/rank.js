// Orders the ranking by another policy; adds a GPU of the grid to the comparison.
element.addEventListener('click', e => {
  const rank = e.target.closest('[data-rank]');
  if (rank) wish('rank', rank.dataset.rank);
});
document.addEventListener('click', e => {
  const pick = e.target.closest('#gs-ranking-grid [data-pick]');
  if (!pick) return;
  e.preventDefault();
  wish('pick', pick.dataset.pick);
  pick.classList.add('gs-done');
  const cards = document.querySelector('#gs-answer [data-view=cards]');
  cards?.click();
  cards?.scrollIntoView({behavior: 'smooth', block: 'start'});
});
