// Remembers the visitor's machine and prices in his browser. An address that states nothing of them
// is read as if it stated what is remembered; links to other questions carry it, and the parameters
// of a frame.
window.gsMachine = (() => {
  const {own, ownOf, kept, storedMachine} = gsPage;
  const stored = () => {
    try {
      const told = JSON.parse(localStorage.getItem(storedMachine));
      return told && typeof told === 'object' ? told : {};
    } catch { return {}; }
  };
  const isValue = (name, value) => {
    return name === 'gpu' ? typeof value === 'string' && value !== '' : Number.isFinite(value);
  };
  const query = new URLSearchParams(location.search), told = stored();
  if (!location.pathname.endsWith('/endpoints') && !own.some(name => query.has(name))) {
    for (const name of own) if (isValue(name, told[name])) query.set(name, told[name]);
    if (own.some(name => query.has(name))) {
      history.replaceState(null, '', location.pathname + '?' + query);
    }
  }
  const carry = event => {
    const link = event.target.closest?.('a[href]');
    const url = link && new URL(link.href), isHeader = link?.closest('.gs-header nav');
    const isOwn = url?.origin === location.origin && url.pathname === location.pathname;
    if (!(isOwn && url.search) && !isHeader) return;
    if (link.getAttribute('href').startsWith('#')) return;  // a part of this page
    const here = new URLSearchParams(location.search);
    for (const name of [...kept, ...own]) {
      if (here.has(name) && !url.searchParams.has(name)) {
        url.searchParams.set(name, here.get(name));
      }
    }
    link.setAttribute('href', url.pathname + url.search);
  };
  for (const event of ['click', 'auxclick']) document.addEventListener(event, carry, true);
  return {
    // Remembers the fields of one tab; returns updates that open the folds of the other tabs, and
    // values for the fields that they share with it.
    typed: (tab, values) => {
      const names = ownOf[tab], typed = {};
      names.forEach((name, at) => {
        if (isValue(name, values[at])) typed[name] = values[at];
      });
      const all = stored();
      names.forEach(name => delete all[name]);
      try {
        localStorage.setItem(storedMachine, JSON.stringify({...all, ...typed}));
      } catch {}
      const others = Object.keys(ownOf).filter(other => other !== tab);
      const isFolded = Object.keys(typed).some(name => name !== 'gpu');
      const fold = {...(isFolded && {open: true}), __type__: 'update'};
      const shared = others.flatMap(other => ownOf[other].filter(name => names.includes(name)));
      return [...others.map(() => fold), ...shared.map(name => typed[name] ?? '')];
    },
  };
})();
