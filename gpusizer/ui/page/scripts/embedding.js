// The page inside another one: ?embed=true leaves out its header and footer, before they are seen.
// Gradio leaves out its own frame only in its <gradio-app> element; it reads no `embed` of an
// address. ?__theme=light, dark or system is Gradio's and needs nothing here.
if (new URLSearchParams(location.search).get('embed') === 'true') {
  document.documentElement.classList.add('gs-embed');
}
