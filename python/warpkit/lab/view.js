(function (id, data) {
  "use strict";
  const root = document.getElementById(id), panel = root.querySelector(".wk-warp");
  let warp = 0, at = 0;
  const colour = (lane) => `hsl(${Math.round(lane * 360 / 32)} 65% ${lane % 2 ? 58 : 68}%)`;
  const cell = (x, y, w, h, fill, title, text) =>
    `<g><rect class="wk-cell" x="${x}" y="${y}" width="${w}" height="${h}" fill="${fill}"/>` +
    (text === undefined ? "" : `<text x="${x + w / 2}" y="${y + h / 2 + 3.5}" text-anchor="middle" style="fill:#111">${text}</text>`) +
    `<title>${title}</title></g>`;
  const label = (x, y, text) => `<text x="${x}" y="${y}">${text}</text>`;
  const svg = (height, body) => `<svg viewBox="0 0 900 ${height}" width="900" role="img">${body}</svg>`;

  // The 32 lanes, those that take part in their colours.
  const lanes = (access) => svg(40, label(0, 10, "lanes of the warp") + access[2].map((offset, lane) =>
    cell(lane * 28, 15, 28, 20, offset < 0 ? "#8883" : colour(lane),
      offset < 0 ? `lane ${lane} takes no part` : `lane ${lane}: +${offset} bytes`, lane)).join(""));

  // Shared memory: 32 banks, a row for each word that one of them has to give.
  function banks(access, size) {
    const words = Array.from({ length: 32 }, () => new Map());
    access[2].forEach((offset, lane) => {
      if (offset < 0) return;
      for (let b = 0; b < Math.max(size, 1); b += 4) {
        const word = Math.floor((access[1] % 128 + offset + b) / 4);
        const bank = words[word % 32];
        bank.set(word, (bank.get(word) || []).concat(lane));
      }
    });
    const rows = Math.max(1, ...words.map((bank) => bank.size)), shown = Math.min(rows, 32);
    let body = label(0, 10, `32 banks of 4 bytes: ${access[4]} wavefront${access[4] === 1 ? "" : "s"}` + (rows > 1 ? `, up to ${rows} words of one bank` : ""));
    words.forEach((bank, i) => {
      body += `<text x="${i * 28 + 14}" y="24" text-anchor="middle" opacity=".6">${i}</text>`;
      [...bank].slice(0, shown).forEach(([word, who], row) => {
        body += cell(i * 28, 28 + row * 16, 28, 16, colour(who[0]), `bank ${i}, word ${word}: lane${who.length > 1 ? "s" : ""} ${who.join(", ")}`, who.length > 1 ? `${who[0]}+` : who[0]);
      });
      if (bank.size === 0) body += cell(i * 28, 28, 28, 16, "#8882", `bank ${i}: nothing`);
    });
    return svg(34 + shown * 16, body);
  }

  // Global memory: lines of 128 bytes, each of four sectors; what is asked for in the lanes' colours.
  function lines(access, size) {
    const found = new Map();
    access[2].forEach((offset, lane) => {
      if (offset < 0) return;
      for (let b = 0; b < size; b++) {
        const line = Math.floor((offset + b) / 128);
        if (!found.has(line)) found.set(line, new Map());
        if (!found.get(line).has((offset + b) % 128)) found.get(line).set((offset + b) % 128, lane);
      }
    });
    const all = [...found.keys()].sort((a, b) => a - b), shown = all.slice(0, 32);
    let body = label(0, 10, `${access[3]} sectors of 32 bytes in ${all.length} line${all.length > 1 ? "s" : ""} of 128 bytes`);
    shown.forEach((line, row) => {
      const y = 16 + row * 17, bytes = found.get(line);
      body += label(0, y + 11, `+${line * 128}`);
      for (let s = 0; s < 4; s++) {
        const touched = [...bytes.keys()].some((b) => b >> 5 === s);
        body += cell(70 + s * 205, y, 200, 14, touched ? "#e8a33d55" : "none", `sector ${line * 4 + s}: ${touched ? "moved" : "not touched"}`);
      }
      let from = -1;
      for (let b = 0; b <= 128; b++) {
        const lane = bytes.get(b), before = b > 0 ? bytes.get(b - 1) : undefined;
        if (from >= 0 && (lane !== before || b % 32 === 0)) {
          const x = 70 + (from >> 5) * 205 + (from & 31) * 6.25;
          body += cell(x, y, (b - from) * 6.25, 14, colour(before), `lane ${before}: byte ${line * 128 + from}`, b - from > 2 ? before : undefined);
          from = -1;
        }
        if (lane !== undefined && from < 0) from = b;
      }
    });
    if (all.length > shown.length) body += label(70, 28 + shown.length * 17, `and ${all.length - shown.length} lines more`);
    return svg(34 + shown.length * 17, body);
  }

  function draw() {
    const accesses = data.warps[warp].accesses, access = accesses[at];
    const [line, op, space, size, array] = data.kinds[access[0]];
    panel.hidden = false;
    panel.innerHTML = `<div class="wk-bar"><select aria-label="warp">${data.warps.map((one, i) => `<option value="${i}"${i === warp ? " selected" : ""}></option>`).join("")}</select>` +
      `<button data-step="-1"${at ? "" : " disabled"}>&#9664; back</button><button data-step="1"${at + 1 < accesses.length ? "" : " disabled"}>step &#9654;</button>` +
      `<span>access ${at + 1} of ${accesses.length}: <b></b></span></div>` + lanes(access) +
      (space === "shared" ? banks(access, size) : lines(access, size));
    panel.querySelector("b").textContent = `line ${line.split(":").pop()}, ${space} ${op}, ${size * 8} bits a lane${array ? ", " + array : ""}`;
    panel.querySelectorAll("option").forEach((option, i) => { option.textContent = data.warps[i].name; });
    root.querySelectorAll("tr.wk-now").forEach((row) => row.classList.remove("wk-now"));
    root.querySelectorAll("tr.wk-hot").forEach((row) => { if (row.dataset.line === line) row.classList.add("wk-now"); });
  }

  // The next access of that line after this one, else the first there is in any warp.
  function show(line) {
    const is = (access) => data.kinds[access[0]][0] === line;
    const worse = (access) => access[3] + access[4];
    for (const start of [warp, ...data.warps.keys()]) {
      const accesses = data.warps[start] ? data.warps[start].accesses : [];
      const here = accesses.map((a, i) => i).filter((i) => is(accesses[i]));
      if (!here.length) continue;
      const next = start === warp && !panel.hidden && here.find((i) => i > at && is(accesses[at]));
      at = next || here.reduce((best, i) => worse(accesses[i]) > worse(accesses[best]) ? i : best);
      warp = start;
      return draw();
    }
  }
  root.addEventListener("click", (event) => {
    const step = event.target.closest("[data-step]"), line = event.target.closest("[data-line]");
    if (step) { at += Number(step.dataset.step); draw(); }
    else if (line) show(line.dataset.line);
  });
  root.addEventListener("keydown", (event) => {
    const line = event.target.closest("[data-line]");
    if (line && event.key === "Enter") show(line.dataset.line);
  });
  panel.addEventListener("change", (event) => { warp = Number(event.target.value); at = 0; draw(); });
})
