// Removes a GPU of the table, adds one by its name, chooses whether all have one quantization.
element.addEventListener('click', e => {
  const remove = e.target.closest('[data-remove]');
  if (remove) wish('drop', remove.dataset.remove);
  const plans = e.target.closest('[data-plans]');
  if (plans) wish('plans', plans.dataset.plans);
});
element.addEventListener('submit', e => {
  e.preventDefault();
  const gpu = e.target.elements.gpu.value.trim();
  if (gpu) wish('pick', gpu);
  e.target.reset();
});
