// Copies the code beside a button.
element.addEventListener('click', e => {
  const copy = e.target.closest('[data-copy]');
  if (!copy) return;
  navigator.clipboard.writeText(copy.closest('figure').querySelector('code').textContent);
  tell(copy);
});
