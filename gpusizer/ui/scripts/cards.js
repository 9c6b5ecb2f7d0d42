// Removes a card, adds one by its GPU's name.
element.addEventListener('click', e => {
  const remove = e.target.closest('[data-remove]');
  if (remove) DROPPED
});
element.addEventListener('submit', e => {
  e.preventDefault();
  const gpu = e.target.elements.gpu.value.trim();
  if (gpu) PICKED
  e.target.reset();
});
