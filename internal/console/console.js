// Everything works without this. It asks for the page again every few seconds, puts in place what has changed, and looks
// for what is typed as soon as somebody stops typing.
(() => {
  'use strict';
  // A slash leads to the search, unless somebody is writing.
  document.addEventListener('keydown', event => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input')) return;
    event.preventDefault();
    const field = document.getElementById('everything');
    field.focus();
    field.select();
  });

  if (document.body.classList.contains('still')) return;
  const every = 5000, pause = 250;
  let tag = '', busy = false, again = false;

  // morph makes one node like another, and leaves alone what is the same: focus, selection and scrolling stay.
  const morph = (from, to) => {
    if (from.isEqualNode(to)) return;
    if (from.nodeType !== to.nodeType || from.nodeName !== to.nodeName || from.id !== to.id) {
      from.replaceWith(document.importNode(to, true));
      return;
    }
    if (from.nodeType !== Node.ELEMENT_NODE) {
      from.nodeValue = to.nodeValue;
      return;
    }
    for (const { name } of [...from.attributes]) if (!to.hasAttribute(name) && !(name === 'open' && from.localName === 'details')) from.removeAttribute(name);
    for (const { name, value } of [...to.attributes]) if (from.getAttribute(name) !== value) from.setAttribute(name, value);
    const known = new Map([...from.children].filter(e => e.id).map(e => [e.id, e]));
    // White space between elements that have names says nothing, and what is not moved keeps the focus.
    const blank = n => known.size > 0 && n.nodeType === Node.TEXT_NODE && n.data.trim() === '';
    for (const child of [...from.childNodes]) if (blank(child)) child.remove();
    let at = from.firstChild;
    for (const child of [...to.childNodes]) {
      if (blank(child)) continue;
      const same = child.id && known.get(child.id);
      if (same) {
        if (same === at) at = at.nextSibling;
        else from.insertBefore(same, at);
        morph(same, child);
      } else if (at && !at.id && !child.id && at.nodeName === child.nodeName) {
        const next = at.nextSibling;
        morph(at, child);
        at = next;
      } else {
        from.insertBefore(document.importNode(child, true), at);
      }
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  };

  const load = async address => {
    const answer = await fetch(address, { headers: tag ? { 'If-None-Match': tag } : {}, cache: 'no-store', credentials: 'same-origin' });
    if (answer.status === 304) return;
    if (answer.status === 401) location.reload(); // The session is over: this leads to the login, and back.
    if (!answer.ok) throw new Error(answer.statusText);
    tag = answer.headers.get('ETag') || '';
    const next = new DOMParser().parseFromString(await answer.text(), 'text/html');
    document.title = next.title;
    morph(document.getElementById('main'), next.getElementById('main'));
  };

  const refresh = async () => {
    if (busy) again = true;
    if (busy || document.hidden || !getSelection().isCollapsed) return;
    busy = true;
    try {
      await load(location.pathname + location.search);
      document.body.classList.remove('lost');
    } catch {
      document.body.classList.add('lost');
    } finally {
      busy = false;
    }
    if (again) {
      again = false;
      refresh();
    }
  };
  setInterval(refresh, every);
  document.addEventListener('visibilitychange', refresh);

  let typing = 0;
  document.addEventListener('input', event => {
    const form = event.target.form;
    const isFind = form?.id === 'find' && location.pathname === '/search';
    if (form?.id !== 'search' && !isFind) return;
    clearTimeout(typing);
    typing = setTimeout(() => {
      const query = new URLSearchParams(new FormData(form));
      for (const [name, value] of [...query]) if (value === '') query.delete(name);
      const address = form.getAttribute('action') + (query.size ? '?' + query : '');
      tag = '';
      history.replaceState(null, '', address);
      refresh();
    }, pause);
  });
})();
