// Search in the browser: nothing is sent anywhere, and no network is needed. The index comes when somebody first looks for something.
const base = document.currentScript.dataset.base;
const query = document.getElementById('query');
const found = document.getElementById('found');
const results = document.getElementById('results');
var searchIndex; // of search-index.js
document.getElementById('search').hidden = false;

const most = 12;

const index = (() => {
  let loading;
  return () => loading ??= new Promise((done, fail) => {
    const script = document.createElement('script');
    script.src = base + 'search-index.js';
    script.onload = () => done(searchIndex.map(p => ({...p, lower: {heading: p.heading.toLowerCase(), page: p.page.toLowerCase(), text: p.text.toLowerCase()}})));
    script.onerror = fail;
    document.head.append(script);
  });
})();

// A passage must have every word. Headings count more than text, and so do words that stand beside each other.
function rank(passage, words) {
  const {heading, page, text} = passage.lower;
  let sum = 0;
  for (const word of words) {
    const here = (heading.includes(word) ? 12 : 0) + (page.includes(word) ? 4 : 0) + (text.includes(word) ? 1 : 0);
    if (here === 0) return 0;
    sum += here;
  }
  const phrase = words.join(' ');
  return sum + (heading === phrase ? 40 : 0) + (words.length > 1 && text.includes(phrase) ? 8 : 0);
}

function marked(text, words) {
  const out = document.createElement('span');
  const first = Math.max(0, Math.min(...words.map(w => text.toLowerCase().indexOf(w)).filter(i => i >= 0), text.length) - 60);
  const from = first < text.length ? text.indexOf(' ', first - 1) + 1 : 0;
  const part = (from > 0 ? '… ' : '') + text.slice(from, from + 180) + (from + 180 < text.length ? ' …' : '');
  const pattern = new RegExp('(' + words.map(w => w.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|') + ')', 'i');
  part.split(pattern).forEach((piece, i) => {
    const node = i % 2 ? document.createElement('mark') : document.createTextNode(piece);
    if (i % 2) node.textContent = piece;
    out.append(node);
  });
  return out;
}

function row(passage, words) {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = base + passage.address;
  const page = document.createElement('span');
  page.textContent = passage.page;
  link.append(passage.heading, ...(passage.page === passage.heading ? [] : [page]), marked(passage.text, words));
  item.append(link);
  return item;
}

async function search() {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) {
    results.replaceChildren();
    found.textContent = '';
    return;
  }
  const asked = query.value;
  const all = (await index()).map(p => [rank(p, words), p]).filter(([r]) => r > 0).sort((a, b) => b[0] - a[0]);
  if (query.value !== asked) return; // somebody typed on
  results.replaceChildren(...all.slice(0, most).map(([, p]) => row(p, words)));
  found.textContent = all.length === 0 ? 'Nothing found' : all.length > most ? `The best ${most} of ${all.length}` : `${all.length} found`;
}

query.addEventListener('input', search);
query.addEventListener('keydown', e => {
  if (e.key === 'Enter') results.querySelector('a')?.click();
});
document.addEventListener('keydown', e => {
  if (e.key === '/' && !e.target.closest('input')) {
    e.preventDefault();
    query.focus();
  }
  if (e.key === 'Escape') {
    query.value = '';
    search();
    query.focus();
  }
});
document.addEventListener('click', e => {
  if (!e.target.closest('#search') || e.target.closest('#results a')) results.replaceChildren();
});
