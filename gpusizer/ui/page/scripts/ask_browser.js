// Asks the browser for the name of its GPU when the visitor wants that, and offers the name for the
// field of the machine. Nothing leaves the browser before the visitor asks with that field.
{
  const box = element.querySelector('.gs-browser'), said = box.querySelector('[role=status]');
  const use = box.querySelector('[data-use]');
  const ofWebGpu = async () => {
    const late = new Promise(end => setTimeout(end, 2000));
    const adapter = navigator.gpu?.requestAdapter({powerPreference: 'high-performance'});
    return (await Promise.race([adapter, late]))?.info;
  };
  const ofWebGl = () => {
    const options = {powerPreference: 'high-performance'};
    const gl = document.createElement('canvas').getContext('webgl', options);
    const names = gl?.getExtension('WEBGL_debug_renderer_info');
    const renderer = names && gl.getParameter(names.UNMASKED_RENDERER_WEBGL);
    gl?.getExtension('WEBGL_lose_context')?.loseContext();
    return renderer;
  };
  box.querySelector('[data-ask]').addEventListener('click', async () => {
    let info, renderer;
    try { info = await ofWebGpu(); } catch {}
    try { renderer = ofWebGl(); } catch {}
    const family = [info?.vendor, info?.architecture].filter(Boolean).join(' ');
    const {kind, name} = graphicsName([info?.description, renderer, info?.device, family]);
    const ram = navigator.deviceMemory >= 1 ? box.dataset.ram : '';
    said.textContent = [
      box.dataset[kind].replace('CARD', () => name),
      ram.replace('AMOUNT', () => navigator.deviceMemory),
    ].filter(Boolean).join(' ');
    use.hidden = !['card', 'part'].includes(kind);
    use.value = name;
  });
  use.addEventListener('click', () => {
    const field = document.querySelector(`#${box.dataset.field} :is(input, textarea)`);
    field.value = use.value;
    field.dispatchEvent(new Event('input', {bubbles: true}));
    said.textContent = '';
    use.hidden = true;
    field.focus();
  });
}
