// Puts a GPU of the catalogue side by side with those above it.
document.addEventListener('click', e => {
  const pick = e.target.closest('#gs-catalogue-grid [data-pick]');
  if (!pick) return;
  e.preventDefault();
  wish('pick', pick.dataset.pick);
  document.getElementById('gs-compare-cards')?.scrollIntoView({behavior: 'smooth'});
});
