// Removes a GPU of the table, adds one by its name, chooses whether all have one quantization.
element.addEventListener('click', e => {
  const remove = e.target.closest('[data-remove]');
  if (remove) DROPPED
  const plans = e.target.closest('[data-plans]');
  if (plans) PLANNED
});
element.addEventListener('submit', e => {
  e.preventDefault();
  const gpu = e.target.elements.gpu.value.trim();
  if (gpu) PICKED
  e.target.reset();
});
