// Reads an address that states nothing of the visitor's machine as if it stated what his browser
// remembers; links to other questions carry the parameters of a frame, and the machine.
{
  const names = NAMES, kept = KEPT;
  const stored = () => {
    try {
      const own = JSON.parse(localStorage.getItem('gs-own-machine'));
      return own && typeof own === 'object' ? own : {};
    } catch { return {}; }
  };
  const query = new URLSearchParams(location.search), own = stored();
  if (!location.pathname.endsWith('/endpoints') && !names.some(name => query.has(name))) {
    for (const name of names) if (Number.isFinite(own[name])) query.set(name, own[name]);
    if (names.some(name => query.has(name))) {
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
    for (const name of [...kept, ...names]) {
      if (here.has(name) && !url.searchParams.has(name)) {
        url.searchParams.set(name, here.get(name));
      }
    }
    link.setAttribute('href', url.pathname + url.search);
  };
  for (const event of ['click', 'auxclick']) document.addEventListener(event, carry, true);
}
