// Saves the files that share buttons have requested (`Download.fields`).
files => {
  for (const {name, type, text} of JSON.parse(files || '[]')) {
    const url = URL.createObjectURL(new Blob([text], {type}));
    const link = Object.assign(document.createElement('a'), {href: url, download: name});
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }
}
