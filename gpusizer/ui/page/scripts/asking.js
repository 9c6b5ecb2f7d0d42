// Asking: nothing that a visitor does is lost, and an old answer looks old.
//
// Each tab has one listener that answers, so that its answers arrive in the order of the questions.
// While it runs, Gradio keeps one further call of it back, for which it reads the fields anew, but
// whose event it forgets. While a call is still being sent, Gradio keeps none back: such a call is
// put off here until the first one is answered. What a visitor does beside the fields is therefore
// kept in a list until the listener is called. An address that is opened, or gone back to, is one of
// these wishes.
window.gsAsking = (() => {
  // By tab: elements with its answer; a heading of the first is focused when it is finished.
  const answers = {
    size: [
      'gs-answer-block', 'gs-ranking-block', 'gs-ranking-grid', 'gs-cards-block',
      'gs-memory-block', 'gs-pictures', 'gs-facts-block',
    ],
    compare: ['gs-compare-cards'],
    train: ['gs-train-answer'],
    reverse: ['gs-reverse-answer', 'gs-reverse-grid'],
    desk: ['gs-desk-answer'],
  };
  // Elements that a wish changes where the question stays.
  const cards = ['gs-cards-block', 'gs-compare-cards'];
  const changedBy = {
    pick: cards, drop: cards, plans: cards,
    rank: ['gs-answer-block', 'gs-ranking-block', 'gs-ranking-grid'],
    rows: ['gs-ranking-block', 'gs-ranking-grid'],
  };
  const answered = '#gs-answer, #gs-training, #gs-reverse, #gs-desk, .gs-side';
  // Enter in another field does not ask before something is named.
  const insisting = '[id$=-go], #gs-model, #gs-compare-model, #gs-train-model, #gs-reverse-gpu'
    + ', #gs-desk-models';
  const tabs = {};
  const of = tab => tabs[tab] ??= {wishes: [], again: '', name: '', calls: 0};
  const blocks = tab => answers[tab].map(id => document.getElementById(id)).filter(Boolean);
  let pressed = null, isMoving = false, opened = location.search, here = opened;
  document.addEventListener('keydown', e => {
    // In a text of several lines Enter begins the next one; with Shift it asks.
    const asks = e.shiftKey ? 'input, textarea' : 'input';
    if (e.key === 'Enter' && e.target.matches?.(asks)) pressed = e.target;
  }, true);
  document.addEventListener('click', e => {
    if (e.target.closest?.('[id$=-go], [data-model]')) pressed = e.target;
  }, true);
  const age = (tab, ids) => {
    const earlier = document.querySelector('.gs-header')?.dataset.earlier, {name} = of(tab);
    for (const block of blocks(tab)) {
      if (!ids.includes(block.id)) continue;
      block.setAttribute('aria-busy', 'true');
      if (name && earlier && /-(block|cards|answer)$/.test(block.id)) {
        block.dataset.earlier = earlier.replace('NAME', name);
      }
    }
  };
  const headings = tab => blocks(tab).flatMap(block => [...block.querySelectorAll('h2')])
    .filter(heading => heading.checkVisibility());
  const focus = tab => {
    const [heading] = headings(tab);
    if (heading) heading.tabIndex = -1;
    heading?.focus();
    return Boolean(heading);
  };
  const go = (search, isStep) => {
    const to = location.pathname + search + location.hash;
    if (isStep) history.pushState(null, '', to); else history.replaceState(null, '', to);
    here = search;
  };
  return {
    // Keeps a wish and calls the listener of a tab, by the event of one of its components.
    asker: (tab, trigger, event = 'input') => (kind, value) => {
      of(tab).wishes.push([kind, String(value)]);
      trigger(event);
    },
    take: (tab, [query]) => [query, JSON.stringify(of(tab).wishes.splice(0))],
    load: () => {
      isMoving = Boolean(window.gsLoaded);
      opened = here = location.search;
      for (const tab in tabs) tabs[tab].isStep = false;
      return [opened, isMoving ? 'moved' : ''];
    },
    named: () => {
      const name = new URLSearchParams(location.search).get('tab') ?? 'size';
      return {catalogue: 'compare', log: 'know'}[name] ?? name;  // parts that were tabs
    },
    isElsewhere: () => location.search !== here,
    loaded: tab => { if (!answers[tab]) isMoving = false; },
    ask: (tab, [query, again, , ...fields]) => {
      const mine = of(tab);
      if (mine.calls++) {
        mine.isPutOff = true;
        return [query, again, '[["later", ""]]', ...fields];
      }
      const wishes = mine.wishes.splice(0), typed = JSON.stringify(fields);
      // What the visitor has asked before the page was ready comes after its address.
      const isLate = mine.fields !== undefined && !isMoving;
      const isLoad = again !== mine.again && again.startsWith('load') && !isLate;
      const isNew = isLoad || typed !== mine.fields || wishes.some(([kind]) => kind === 'model');
      const changed = wishes.flatMap(([kind]) => changedBy[kind] ?? []);
      const isShown = blocks(tab)[0]?.querySelector(answered) != null;
      if (isLoad) { wishes.unshift(['load', opened]); isMoving = false; }
      const isMeant = fields[0] || pressed?.closest(insisting);
      if (pressed && isMeant && !isShown) wishes.push(['ask', '']);
      Object.assign(mine, {
        again, fields: typed, isStep: !isLoad, asker: pressed ? document.activeElement : null,
      });
      pressed = null;
      if (isLoad && !fields[0]) mine.search = undefined;
      age(tab, isNew && fields[0] ? answers[tab] : changed);
      return [query, again, JSON.stringify(wishes), ...fields];
    },
    left: async (tab, [again, ...fields]) => {
      // A button or Enter, for which the visitor has left the field, asks first.
      await new Promise(go => setTimeout(go, 250));
      const mine = of(tab), isSame = JSON.stringify(fields) === mine.fields;
      return isSame || (mine.fields === undefined && !fields[0]) ? again : `left${Date.now()}`;
    },
    done: (tab, named, [query, late]) => {
      const mine = of(tab), {asker, isPutOff} = mine, now = document.activeElement;
      if (--mine.calls) return late;
      mine.isPutOff = false;
      for (const block of blocks(tab)) {
        block.removeAttribute('aria-busy');
        delete block.dataset.earlier;
      }
      const isShown = blocks(tab)[0]?.querySelector(answered) != null;
      // The field may say already what is asked next.
      const name = new URLSearchParams(query).get(named) ?? '';
      mine.name = isShown ? name.split('\n')[0] : '';
      const told = document.querySelector('.gs-told');
      if (told) told.textContent = headings(tab)[0]?.textContent ?? '';
      if (asker && (now === asker || now === document.body)) focus(tab);
      return isPutOff ? String(Date.now()) : late;
    },
    skip: () => Object.keys(answers).some(focus),
    write: (tab, search) => {
      const open = document.querySelector('#gs-tabs [role=tab][aria-selected=true]');
      of(tab).search = search;
      if (isMoving || (open && open.id !== `gs-tab-${tab}-button`)) return false;
      if (search !== location.search) go(search, of(tab).isStep);
      of(tab).isStep = false;
      return true;
    },
    go,
    searchOf: (tab, kept) => {
      // A tab with a question has an address of its own, one without a form keeps that at hand.
      if (tabs[tab]?.search) return tabs[tab].search;
      const query = new URLSearchParams(location.search);
      for (const name of answers[tab] ? [...query.keys()] : []) {
        if (!kept.includes(name)) query.delete(name);
      }
      if (tab === 'size') query.delete('tab'); else query.set('tab', tab);
      return query.size ? '?' + query : '';
    },
  };
})();
