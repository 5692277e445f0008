'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const at = (id) => document.getElementById(id);
  const SIGNS = { create: '+', replace: '~', recreate: '∓', delete: '−', blocked: '!', annotate: '·' };
  // A check shows the actions of its plan by what was done outside.
  const SIGN_OF = { changed: '~', deleted: '−', unmanaged: '+', pending: '·' };
  const looks = data.sides[0] === 'defined';
  const wordOf = (action) => (data.words || {})[action] || action;
  const signOf = (action) => SIGN_OF[wordOf(action)] || SIGNS[action];
  const CLASS_OF = { deleted: 'delete', unmanaged: 'create' };
  const classOf = (action) => CLASS_OF[wordOf(action)] || action;
  const WARN = /^(drift|unannotated|adopts|passes|not managed|unmanaged)|outside/;
  // Rows that are drawn at once; the others follow when the reader comes near the end.
  const FIRST = 36;
  const CHUNK = 100;
  // So few entries are open from the beginning.
  const OPEN = 10;

  const state = { words: [], namespace: '', actions: new Set(), reasons: new Set(), split: false, fold: true, ours: false };
  let shown = [];
  let drawn = 0;
  // Rows that are drawn later too.
  let everyOpen = false;

  const element = (tag, name, text) => {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const number = (value) => value.toLocaleString('en-US');

  // What a search looks through, made once for each change.
  const haystacks = new Array(data.changes.length);
  const haystack = (index) => {
    if (haystacks[index] === undefined) {
      const change = data.changes[index];
      const parts = [change.k, change.a, change.r, change.p || '', change.t || ''];
      for (const edit of data.edits[change.e]) {
        parts.push(edit.n);
        for (const line of edit.l) parts.push(line[1]);
      }
      haystacks[index] = parts.join('\n').toLowerCase();
    }
    return haystacks[index];
  };

  const said = (index) => {
    if (state.ours && index >= data.ours) return false;
    const change = data.changes[index];
    if (state.namespace && change.n !== state.namespace) return false;
    if (!state.words.length) return true;
    const text = haystack(index);
    return state.words.every((word) => text.includes(word));
  };

  // Entries to draw: each a list of changes that make one and the same edit. The counts of a chip are
  // of what fits otherwise, so that it tells what choosing it would show.
  const select = () => {
    const found = { entries: [], count: 0, actions: new Map(), reasons: new Map() };
    const add = (counts, value) => counts.set(value, (counts.get(value) || 0) + 1);
    const folds = new Map();
    for (let index = 0; index < data.changes.length; index += 1) {
      if (!said(index)) continue;
      const change = data.changes[index];
      const action = !state.actions.size || state.actions.has(change.a);
      const reason = !state.reasons.size || state.reasons.has(change.r);
      if (reason) add(found.actions, change.a);
      if (action) add(found.reasons, change.r);
      if (!action || !reason) continue;
      found.count += 1;
      const mayFold = state.fold && (change.a === 'replace' || change.a === 'annotate') && data.edits[change.e].length;
      const fold = mayFold ? `${change.e} ${change.r}` : '';
      const entry = folds.get(fold);
      if (entry) {
        entry.push(index);
      } else {
        const made = [index];
        if (fold) folds.set(fold, made);
        found.entries.push(made);
      }
    }
    return found;
  };

  const tag = (reason) => {
    const kind = reason.startsWith('behind base') ? 'tag bad' : WARN.test(reason) ? 'tag warn' : 'tag';
    return element('span', kind, reason);
  };

  const lineOf = (sign, text) => {
    const kind = sign === '-' ? 'gone' : sign === '+' ? 'come' : 'same';
    const row = element('div', `row ${kind}`);
    const shownSign = element('span', 'sign', sign === '-' ? '−' : sign);
    shownSign.setAttribute('aria-hidden', 'true');
    const value = element(sign === '-' ? 'del' : sign === '+' ? 'ins' : 'span', 'value', text);
    row.append(shownSign, value);
    return row;
  };

  const blank = () => {
    const row = element('div', 'row blank');
    row.append(element('span', 'sign'), element('span', 'value'));
    return row;
  };

  const sides = (lines) => {
    const grid = element('div', 'sides');
    grid.append(element('div', 'side', data.sides[0]), element('div', 'side', data.sides[1]));
    let gone = [];
    let come = [];
    const flush = () => {
      for (let row = 0; row < Math.max(gone.length, come.length); row += 1) {
        grid.append(row < gone.length ? lineOf('-', gone[row]) : blank());
        grid.append(row < come.length ? lineOf('+', come[row]) : blank());
      }
      gone = [];
      come = [];
    };
    for (const [sign, text] of lines) {
      if (sign === '-') gone.push(text);
      else if (sign === '+') come.push(text);
      else {
        flush();
        grid.append(lineOf(' ', text), lineOf(' ', text));
      }
    }
    flush();
    return grid;
  };

  const placeOf = (change, index) => {
    const place = change.l && change.l[index];
    if (!place) return '';
    return typeof place === 'number' ? `${(change.p || '').replace(/:\d+$/, '')}:${place}` : place;
  };

  const fill = (details, entry) => {
    const change = data.changes[entry[0]];
    const body = element('div', 'body');
    const edits = data.edits[change.e];
    if (entry.length > 1) {
      const values = edits.length === 1 ? 'value' : 'values';
      const own = new Set(entry.map((index) => data.changes[index].t || ''));
      if (own.size === 1 && change.t) body.append(element('p', '', change.t));
      body.append(element('h3', 'part', `The same in all ${number(entry.length)}: ${number(edits.length)} ${values}`));
    } else if (change.t && change.a !== 'blocked') body.append(element('p', '', change.t));
    if (!edits.length) { /* Nothing to compare. */ }
    else if (change.a === 'create' || change.a === 'delete') {
      const flat = element('div', 'flat');
      for (const edit of edits) {
        edit.l.forEach(([sign, text], line) => {
          const row = lineOf(sign, text);
          row.insertBefore(element('span', 'name', line ? '' : edit.n), row.lastChild);
          flat.append(row);
        });
      }
      if (edits.length) body.append(flat);
    } else {
      edits.forEach((edit, index) => {
        const box = element('section', 'edit');
        const head = element('h3', '', edit.n);
        if (edit.c) head.append(tag(edit.c));
        if (entry.length === 1) head.append(element('span', 'place', placeOf(change, index)));
        box.append(head);
        if (state.split) box.append(sides(edit.l));
        else for (const [sign, text] of edit.l) box.append(lineOf(sign, text));
        body.append(box);
      });
    }
    if (entry.length > 1) body.append(...different(entry));
    details.append(body);
  };

  // What the endpoints of a group do not share: their names and places, and what is known of each.
  const different = (entry) => {
    const own = new Set(entry.map((index) => data.changes[index].t || ''));
    const what = own.size > 1 ? 'endpoint, place, and what is known of it' : 'endpoint and place';
    const names = element('ul', own.size > 1 ? 'names wide' : 'names');
    for (const index of entry) {
      const one = data.changes[index];
      const item = element('li');
      item.append(element('code', '', one.k), ' ', element('span', 'place', placeOf(one, 0) || one.p || ''));
      if (own.size > 1 && one.t) item.append(element('span', 'known', one.t));
      names.append(item);
    }
    return [element('h3', 'part', `Different: ${what}`), names];
  };

  // What each box is about; a box is filled when it is opened for the first time.
  const entries = new WeakMap();
  const whole = (details) => {
    if (details.childElementCount === 1) fill(details, entries.get(details));
  };

  // What a closed box says of its change: the values of a replace, else its place or what is known.
  const brief = (change) => {
    const box = element('span', 'fields');
    const edits = data.edits[change.e];
    if (change.a === 'blocked') box.textContent = change.t || change.p || '';
    else if (edits.length && (change.a === 'replace' || change.a === 'annotate')) {
      edits.forEach((edit, index) => {
        const gone = edit.l.filter((line) => line[0] === '-');
        const come = edit.l.filter((line) => line[0] === '+');
        if (index) box.append(', ');
        box.append(element('b', '', edit.n));
        if (gone.length > 1 || come.length > 1 || edit.l.length > gone.length + come.length) return;
        // A script from right to left does not turn the line around.
        const value = (lines) => element('bdi', '', lines.length ? lines[0][1] || '(empty)' : '(none)');
        // An arrow means what an apply does; a check only names both sides.
        if (looks) box.append(` ${data.sides[0]} `, value(gone), `, ${data.sides[1]} `, value(come));
        else box.append(' ', value(gone), ' → ', value(come));
      });
    } else box.textContent = change.p || change.t || '';
    box.title = box.textContent;
    return box;
  };

  const draw = (entry) => {
    const change = data.changes[entry[0]];
    const item = element('li');
    const details = element('details', `change ${classOf(change.a)}`);
    const summary = element('summary');
    const what = element('span', 'what');
    const sign = element('i', '', signOf(change.a));
    sign.setAttribute('aria-hidden', 'true');
    what.append(sign, wordOf(change.a));
    const many = entry.length > 1;
    const key = element('span', 'key', many ? `${number(entry.length)} endpoints` : change.k);
    summary.append(what, key, brief(change), tag(change.r));
    details.append(summary);
    entries.set(details, entry);
    details.addEventListener('toggle', () => { if (details.open) whole(details); });
    details.open = everyOpen;
    item.append(details);
    return item;
  };

  const more = (count) => {
    const list = at('changes');
    const part = document.createDocumentFragment();
    const end = Math.min(drawn + count, shown.length);
    for (; drawn < end; drawn += 1) part.append(draw(shown[drawn]));
    list.append(part);
  };

  new IntersectionObserver((seen) => {
    if (seen.some((one) => one.isIntersecting) && drawn < shown.length) more(CHUNK);
  }, { rootMargin: '500px' }).observe(at('end'));

  // Texts to search in are made ahead, a piece at a time.
  const later = window.requestIdleCallback || ((then) => setTimeout(then, 30));
  const prepare = (from) => {
    const to = Math.min(from + 500, data.changes.length);
    for (let index = from; index < to; index += 1) haystack(index);
    if (to < data.changes.length) later(() => prepare(to));
  };

  const chips = (id, values, chosen, counts) => {
    const box = at(id);
    box.hidden = values.length < 2;
    if (!box.childElementCount) {
      for (const value of values) {
        const chip = element('button', '', id === 'actions' ? wordOf(value) : value);
        chip.type = 'button';
        chip.append(element('span'));
        chip.addEventListener('click', () => {
          if (chosen.has(value)) chosen.delete(value);
          else chosen.add(value);
          refresh();
        });
        box.append(chip);
      }
    }
    values.forEach((value, index) => {
      const chip = box.children[index];
      chip.setAttribute('aria-pressed', String(chosen.has(value)));
      chip.lastChild.textContent = number(counts.get(value) || 0);
    });
  };

  const distinct = (pick) => [...new Set(data.changes.map(pick))];
  const actions = ['delete', 'recreate', 'blocked', 'replace', 'create', 'annotate'].filter((a) => data.changes.some((change) => change.a === a));
  const reasons = distinct((change) => change.r).sort();
  const namespaces = distinct((change) => change.n).sort();

  const all = () => at('changes').querySelectorAll('details');

  const refresh = () => {
    const found = select();
    shown = found.entries;
    drawn = 0;
    at('changes').replaceChildren();
    more(FIRST);
    if (shown.length <= OPEN) all().forEach((details) => { details.open = true; });
    at('none').hidden = found.count > 0 || !data.changes.length;
    at('status').textContent = found.count === data.changes.length
      ? `${number(found.count)} change${found.count === 1 ? '' : 's'}`
      : `${number(found.count)} of ${number(data.changes.length)} changes`;
    at('status').append(`: − ${data.sides[0]}, + ${data.sides[1]}`);
    at('ours').checked = state.ours;
    chips('actions', actions, state.actions, found.actions);
    chips('reasons', reasons, state.reasons, found.reasons);
  };

  // Nothing to search; the header names what was not read.
  document.querySelector('.tools').hidden = !data.changes.length;
  const namespace = at('namespace');
  namespace.parentElement.hidden = namespaces.length < 2;
  namespace.append(new Option(`All ${number(namespaces.length)} namespaces`, ''));
  for (const name of namespaces) namespace.append(new Option(name, name));
  namespace.addEventListener('change', () => { state.namespace = namespace.value; refresh(); });

  const search = at('search');
  search.addEventListener('input', () => {
    state.words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    refresh();
  });

  const view = (split) => {
    state.split = split;
    at('split').setAttribute('aria-pressed', String(split));
    at('unified').setAttribute('aria-pressed', String(!split));
    const open = [...all()].map((details) => details.open);
    const before = drawn;
    refresh();
    more(before - drawn);
    all().forEach((details, index) => { details.open = open[index] || false; });
  };
  at('split').addEventListener('click', () => view(true));
  at('unified').addEventListener('click', () => view(false));
  const whose = at('whose');
  whose.hidden = data.ours === undefined;
  whose.lastElementChild.textContent = `This change only (${number(data.changes.length - (data.ours || 0))} others)`;
  at('ours').addEventListener('change', (event) => { state.ours = event.target.checked; refresh(); });
  at('fold').addEventListener('change', (event) => { state.fold = event.target.checked; refresh(); });
  const openAll = (open) => {
    everyOpen = open;
    all().forEach((details) => { details.open = open; });
  };
  at('open').addEventListener('click', () => openAll(true));
  at('close').addEventListener('click', () => openAll(false));
  at('reset').addEventListener('click', () => {
    state.words = [];
    state.namespace = '';
    state.ours = false;
    state.actions.clear();
    state.reasons.clear();
    search.value = '';
    namespace.value = '';
    refresh();
    search.focus();
  });

  const themes = ['auto', 'light', 'dark'];
  let theme = 0;
  at('theme').addEventListener('click', () => {
    theme = (theme + 1) % themes.length;
    document.documentElement.dataset.theme = themes[theme];
    at('theme').textContent = `Colours: ${themes[theme]}`;
  });

  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.key === '/' && !typing) {
      event.preventDefault();
      search.focus();
      search.select();
    } else if (event.key === 'Escape' && event.target === search && search.value) {
      search.value = '';
      state.words = [];
      refresh();
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const here = event.target.closest && event.target.closest('li');
      const down = event.key === 'ArrowDown';
      let next = null;
      if (event.target === search && down) next = at('changes').firstElementChild;
      else if (event.target.tagName === 'SUMMARY' && here) next = down ? here.nextElementSibling : here.previousElementSibling;
      const summary = next && next.querySelector('summary');
      if (summary) {
        event.preventDefault();
        summary.focus();
      }
    }
  });

  // A print shows what is on the screen, whole; a short list with its differences. Afterwards every box is as it
  // was.
  let closed = [];
  window.addEventListener('beforeprint', () => {
    more(shown.length);
    if (shown.length > 300) return;
    closed = [...document.querySelectorAll('details:not([open])')];
    closed.forEach((details) => { details.open = true; });
    // A toggle is told later than the page is printed.
    all().forEach(whole);
  });
  window.addEventListener('afterprint', () => {
    closed.forEach((details) => { details.open = false; });
    closed = [];
  });

  // A browser that gives no clipboard to a file selects the command instead.
  for (const button of document.querySelectorAll('.copy')) {
    const code = button.previousElementSibling;
    button.addEventListener('click', async () => {
      getSelection().selectAllChildren(code);
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = 'Copied';
      } catch {
        button.textContent = 'Selected';
      }
      setTimeout(() => { button.textContent = 'Copy'; }, 2000);
    });
  }

  document.documentElement.classList.add('ready');
  refresh();
  later(() => prepare(0));
})();
