// Shows the label in `data-done` on a button for 1.5 seconds.
const tell = button => {
  const label = button.textContent;
  button.textContent = button.dataset.done;
  setTimeout(() => { button.textContent = label; }, 1500);
};
