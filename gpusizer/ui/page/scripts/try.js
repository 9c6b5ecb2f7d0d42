// Chooses an example model.
element.addEventListener('click', e => {
  const chip = e.target.closest('[data-model]');
  if (chip) wish('model', chip.dataset.model);
});
