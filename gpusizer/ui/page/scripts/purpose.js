// For whom a model is to run: as the address says, until the visitor chooses. For several users the
// form has fields of its own, which are emptied for one; fine-tuning has its tab.
{
  const page = document.querySelector('.gradio-container');
  const asked = () => new URLSearchParams(location.search);
  const isForSeveral = () => gsPage.load.some(name => asked().has(name));
  const show = purpose => {
    page.dataset.for = purpose;
    for (const button of element.querySelectorAll('[data-purpose]')) {
      button.setAttribute('aria-pressed', String(button.dataset.purpose === purpose));
    }
  };
  const told = () => show(isForSeveral() ? 'users' : 'me');
  element.addEventListener('click', e => {
    const choice = e.target.closest('[data-purpose]')?.dataset.purpose;
    if (!choice || choice === page.dataset.for) return;
    if (choice === 'training') {
      gsAddress.open('train', {model: '#gs-model', gpu: '#gs-gpu'});
      return;
    }
    show(choice);
    if (choice === 'me') wish('alone', '');
    else document.querySelector('#gs-concurrency input')?.select();
  });
  addEventListener('popstate', told);
  addEventListener('gs-answered', () => { if (isForSeveral()) show('users'); });
  told();
}
