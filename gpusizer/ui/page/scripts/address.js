// Writes what is asked and which tab is open into the address bar and the links to other languages.
window.gsAddress = (() => {
  const {own, ownOf, kept, tabId} = gsPage;
  const link = search => document.querySelectorAll('.gs-header a').forEach(link => {
    link.href = link.getAttribute('href').split('?')[0] + search;
  });
  const writeTab = () => {
    const open = document.querySelector('#gs-tabs [role=tab][aria-selected=true]');
    const name = open.id.replace(new RegExp(`^${tabId}|-button$`, 'g'), '');
    if (name === gsAsking.named()) return;
    const search = gsAsking.searchOf(name, [...kept, ...own]);
    gsAsking.go(search, true);
    link(search);
  };
  return {
    // After an answer. Parameters of a frame stay, and what is said of the machine in fields that
    // the tab lacks.
    answered: (tab, [query]) => {
      const stay = new URLSearchParams();
      new URLSearchParams(location.search).forEach((value, name) => {
        const isOwn = own.includes(name) && !ownOf[tab].includes(name);
        if (isOwn || kept.includes(name)) stay.set(name, value);
      });
      const named = tab === 'size' ? '' : `tab=${tab}&`;
      const parts = [named + query, String(stay)].filter(Boolean);
      const search = query ? '?' + parts.join('&') : location.search;
      if (query && !gsAsking.write(tab, search)) return;  // of a tab that is not open
      link(search);
      dispatchEvent(new Event('gs-answered'));
    },
    // Asks in another tab with what some fields say, as if the visitor had gone to its address.
    open: (tab, fields) => {
      const query = new URLSearchParams(location.search);
      for (const name of [...query.keys()]) {
        if (![...kept, ...own].includes(name)) query.delete(name);
      }
      query.set('tab', tab);
      for (const [name, id] of Object.entries(fields)) {
        const text = document.querySelector(`${id} :is(input, textarea)`)?.value.trim();
        if (text) query.set(name, text); else query.delete(name);
      }
      history.pushState(null, '', location.pathname + '?' + query);
      dispatchEvent(new PopStateEvent('popstate'));
    },
    // When another tab opens, by the visitor and not by the page.
    opened: () => { if (window.gsLoaded) writeTab(); },
    // Once the fields show the address: from now on only the visitor opens tabs. If the address
    // names no tab, it gets the one that he has opened meanwhile.
    loaded: () => {
      gsAsking.loaded(gsAsking.named());
      if (window.gsLoaded) return;
      window.gsLoaded = true;
      if (!new URLSearchParams(location.search).has('tab')) writeTab();
    },
  };
})();
