// Writes the page's own address into the Markdown of badges, whenever cards change.
const own = new URL('.', location.href).href;
const fill = () => element.querySelectorAll('pre code').forEach(code => {
  if (!code.textContent.includes(gsPage.badgeOrigin)) return;
  code.textContent = code.textContent.replaceAll(gsPage.badgeOrigin, own);
});
new MutationObserver(fill).observe(element, {childList: true, subtree: true});
fill();
