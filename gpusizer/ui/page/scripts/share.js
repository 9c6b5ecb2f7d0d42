// Copies the address, or requests a file by the event `take`: Gradio has a `share` of its own.
element.addEventListener('click', e => {
  const share = e.target.closest('[data-share]');
  if (!share) return;
  if (share.dataset.share !== 'link') {
    gsAsking.asker('share', trigger, 'take')('take', share.dataset.share);
    return;
  }
  navigator.clipboard.writeText(location.href);
  tell(share);
});
