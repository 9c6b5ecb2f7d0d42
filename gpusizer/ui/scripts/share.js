// Copies the address, or requests a file by the event `take`.
element.addEventListener('click', e => {
  const share = e.target.closest('[data-share]');
  if (!share) return;
  if (share.dataset.share !== 'link') {
    gsAsking.wish('share', 'take', share.dataset.share);
    trigger('take');
    return;
  }
  navigator.clipboard.writeText(location.href);
  tell(share);
});
