// Shows the copies of a model, which are below the list, at its row.
const box = document.createElement('div');
box.id = 'gs-copies-box';
box.className = 'gs-section gs-copies-box';
box.popover = 'auto';
document.querySelector('.gradio-container').append(box);
document.addEventListener('click', e => {
  const more = e.target.closest('#gs-reverse-grid [data-copies]');
  if (!more) return;
  e.preventDefault();
  const families = [...element.querySelectorAll('[data-family]')];
  const family = families.find(part => part.dataset.family === more.dataset.copies);
  if (!family) return;
  box.replaceChildren(...[...family.children].map(part => part.cloneNode(true)));
  box.showPopover();
  const row = more.getBoundingClientRect(), {width, height} = box.getBoundingClientRect();
  const below = row.bottom + 6, fits = below + height < innerHeight;
  box.style.left = Math.max(16, Math.min(row.left, innerWidth - width - 16)) + 'px';
  box.style.top = (fits ? below : Math.max(8, row.top - height - 6)) + 'px';
  // The table selects the cell that was clicked, and focuses it.
  requestAnimationFrame(() => box.querySelector('a').focus({preventScroll: true}));
});
for (const event of ['wheel', 'touchmove']) document.addEventListener(event, e => {
  if (!box.contains(e.target) && box.matches(':popover-open')) box.hidePopover();
}, {passive: true});
