// Writes the page's own origin into code examples.
element.querySelectorAll('pre code').forEach(code => {
  code.textContent = code.textContent.replaceAll(gsPage.origin, location.origin);
});
