// Remembers the fields of one tab; returns updates that open the folds of the other tabs, and values
// for the fields that all tabs share.
(...values) => {
  const names = NAMES, typed = {};
  names.forEach((name, at) => {
    if (typeof values[at] === 'number') typed[name] = values[at];
  });
  const stored = () => {
    try {
      const own = JSON.parse(localStorage.getItem('gs-own-machine'));
      return own && typeof own === 'object' ? own : {};
    } catch { return {}; }
  };
  const own = stored();
  names.forEach(name => delete own[name]);
  try {
    localStorage.setItem('gs-own-machine', JSON.stringify({...own, ...typed}));
  } catch {}
  const fold = Object.keys(typed).length ? {open: true, __type__: 'update'} : null;
  const folds = Array.from({length: FOLDS}, () => fold ?? {__type__: 'update'});
  return [...folds, ...SHARED.map(name => typed[name] ?? '')];
}
