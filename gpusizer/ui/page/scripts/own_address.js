// Writes the page's own address into the Markdown of badges, whenever cards change: as a link, and
// inside the address of a picture.
const own = new URL('.', location.href).href;
const fill = () => element.querySelectorAll('pre code').forEach(code => {
  const placeholder = gsPage.badgeOrigin;
  if (!code.textContent.includes(placeholder)) return;
  code.textContent = code.textContent
    .replaceAll(placeholder, own)
    .replaceAll(encodeURIComponent(placeholder), encodeURIComponent(own));
});
new MutationObserver(fill).observe(element, {childList: true, subtree: true});
fill();
