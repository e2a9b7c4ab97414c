// What a page is like, for complaints() in facts_test.go. Nothing here changes what is shown.
(() => {
  const all = [...document.querySelectorAll('*')];
  const words = e => e.textContent.trim().replace(/\s+/g, ' ').slice(0, 60);
  const viewport = document.documentElement.clientWidth;

  // The colour of an empty page is known to nothing but an element that has it.
  const canvas = (() => {
    const probe = document.createElement('div');
    probe.style.backgroundColor = 'Canvas';
    document.body.append(probe);
    const colour = getComputedStyle(probe).backgroundColor;
    probe.remove();
    return colour;
  })();
  const background = e => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (colour !== 'rgba(0, 0, 0, 0)') return colour;
    }
    return canvas;
  };
  const opacity = e => {
    let all = 1;
    for (; e; e = e.parentElement) all *= Number(getComputedStyle(e).opacity);
    return all;
  };
  const says = e => [...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim() !== '');
  // What is cut off by its parent does not stand out, and what waits outside of the window for the focus is not seen.
  const shown = e => e.getClientRects().length > 0 && !e.closest('.skip');

  return {
    Title: document.title,
    Lang: document.documentElement.lang,
    Canvas: canvas,
    Viewport: viewport,
    Width: document.documentElement.scrollWidth,
    Wide: all.filter(e => shown(e) && e.getBoundingClientRect().right > viewport + 1).map(e => e.localName + ' ' + words(e)),
    Tags: [...new Set(all.map(e => e.localName))],
    Attributes: [...new Set(all.flatMap(e => [...e.attributes].map(a => a.name)))],
    Headings: all.filter(e => /^h[1-6]$/.test(e.localName)).map(e => Number(e.localName[1])),
    LooseHeaders: all.filter(e => e.localName === 'th' && !['col', 'row', 'rowgroup'].includes(e.scope)).map(words),
    Unnamed: all.filter(e => e.localName === 'table' && !e.caption && !e.getAttribute('aria-label') && !e.getAttribute('aria-labelledby')).map(words),
    Good: [...document.querySelectorAll('.good')].map(words),
    Bad: [...document.querySelectorAll('.bad')].map(words),
    Links: [...document.links].filter(e => e.getClientRects().length > 0).map(e => e.href),
    Fields: document.querySelectorAll('input:not([type=hidden]), button').length,
    Unlabelled: all.filter(e => e.localName === 'input' && e.type !== 'hidden' && e.labels.length === 0).map(e => e.name),
    EmptyLinks: [...document.links].filter(e => words(e) === '').map(e => e.href),
    Scripts: [...document.scripts].map(e => e.src),
    Height: document.documentElement.scrollHeight,
    Resources: all.filter(e => e.localName === 'link').map(e => e.href),
    Texts: all.filter(e => shown(e) && says(e)).map(e => ({
      Text: words(e), Colour: getComputedStyle(e).color, Background: background(e), Opacity: opacity(e),
      Size: parseFloat(getComputedStyle(e).fontSize),
    })),
    Text: document.body.innerText,
  };
})()
