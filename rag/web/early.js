// Runs before anything else of the page: what this visitor chose last time holds from the first paint on.
(() => {
  const kept = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  const theme = kept('aa-theme'), language = kept('aa-language');
  if (theme === 'dark' || theme === 'light') {
    const address = new URL(location);
    if (address.searchParams.get('__theme') !== theme) {
      address.searchParams.set('__theme', theme);
      history.replaceState(history.state, '', address);
    }
  }
  if (language) {
    Object.defineProperty(navigator, 'language', { configurable: true, get: () => language });
    Object.defineProperty(navigator, 'languages', { configurable: true, get: () => [language] });
  }
})();
