// Offers again, as buttons, the cards that the visitor describes in the field for adding one, or
// whose free memory he states there, until he removes them. One is stored once it is shown, so that
// what cannot be read is not.
{
  const aboutMemory = /\([^()]*(free|usable|livre|可用|used|usad|已用)[^()]*\)/i;
  const isOwn = text => {
    return typeof text === 'string' && (/^custom:/i.test(text) || aboutMemory.test(text));
  };
  const stored = () => {
    try {
      const list = JSON.parse(localStorage.getItem('gs-own-cards'));
      return Array.isArray(list) ? list.filter(isOwn) : [];
    } catch { return []; }
  };
  const store = list => {
    const texts = [...new Set(list)].map(text => text.slice(0, 100)).slice(0, 4);
    try { localStorage.setItem('gs-own-cards', JSON.stringify(texts)); } catch { return; }
  };
  const typed = new Set();
  const button = (name, text, label, gpu) => {
    const node = Object.assign(document.createElement('button'), {type: 'button'});
    node.className = name;
    node.textContent = text;
    node.dataset[label] = gpu;
    return node;
  };
  const show = () => {
    const box = element.querySelector('.gs-own');
    if (!box || box.dataset.shown) return;
    box.dataset.shown = 'true';
    const removers = [...element.querySelectorAll('[data-remove]')];
    const cards = removers.map(button => button.dataset.remove);
    const added = cards.filter(gpu => typed.has(gpu));
    if (added.length) store([...added, ...stored()]);
    const own = stored();
    box.hidden = !own.length;
    const list = box.querySelector('.gs-chips');
    own.forEach(gpu => {
      const forget = button('gs-forget', '×', 'forget', gpu);
      forget.setAttribute('aria-label', box.dataset.forgetLabel.replace('GPU', gpu));
      list.append(button('gs-chip', gpu, 'own', gpu), forget);
    });
  };
  element.addEventListener('submit', e => {
    const gpu = e.target.elements.gpu.value.trim().replaceAll(',', ' ');
    if (isOwn(gpu)) typed.add(gpu);
  }, true);
  document.getElementById('gs-compare-gpus')?.addEventListener('change', e => {
    e.target.value.split(',').map(text => text.trim()).filter(isOwn).forEach(gpu => typed.add(gpu));
  });
  element.addEventListener('click', e => {
    const pick = e.target.closest('[data-own]'), forget = e.target.closest('[data-forget]');
    if (pick) wish('pick', pick.dataset.own);
    if (!forget) return;
    store(stored().filter(gpu => gpu !== forget.dataset.forget));
    forget.previousElementSibling.remove();
    forget.remove();
    const box = element.querySelector('.gs-own');
    box.hidden = !box.querySelector('[data-own]');
  });
  new MutationObserver(show).observe(element, {childList: true, subtree: true});
  show();
}
