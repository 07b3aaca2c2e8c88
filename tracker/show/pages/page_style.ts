/** The look of every page that pare writes: light or dark as the reader has it, phone to wide, print. */
export const PAGE_STYLE = `
  :root { color-scheme: light dark; --paper: #ffffff; --ink: #1f2933; --soft: #52606d;
    --line: #d9e2ec; --mark: #f0f4f8; --link: #0b5cad; --lit: #fff3c4; --ring: #b42318; }
  @media (prefers-color-scheme: dark) { :root { --paper: #14181d; --ink: #e6eaee; --soft: #a3adb8;
    --line: #333c46; --mark: #1f262e; --link: #7fbdf5; --lit: #4a3f12; --ring: #ff8577; } }
  * { box-sizing: border-box; }
  body { font: 15px/1.55 "DejaVu Sans", "Segoe UI", system-ui, sans-serif; color: var(--ink);
    background: var(--paper); max-width: 1180px; margin: 32px auto 80px; padding: 0 24px;
    overflow-wrap: break-word; }
  a { color: var(--link); }
  h1 { font-size: 27px; line-height: 1.25; margin: 0 0 4px; }
  h2 { font-size: 19px; margin: 40px 0 8px; } h3 { font-size: 16px; margin: 24px 0 6px; }
  p, ul, dl { max-width: 78ch; } .note, figcaption, h1 + p { color: var(--soft); font-size: 13px; }
  code { overflow-wrap: anywhere; }
  nav { background: var(--mark); border-radius: 6px; padding: 10px 16px; margin: 20px 0;
    font-size: 13px; } nav ol { columns: 3 220px; margin: 6px 0; padding-left: 22px; }
  .scroll { overflow-x: auto; }
  table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
  td { min-width: 3em; } td, th { overflow-wrap: normal; }
  th, td { text-align: left; padding: 5px 12px 5px 0; border-bottom: 1px solid var(--line);
    vertical-align: top; }
  thead th { font-weight: 600; border-bottom-color: var(--soft); white-space: nowrap; }
  tbody th { font-weight: inherit; }
  th[tabindex] { cursor: pointer; } th[aria-sort=ascending]::after { content: " ↑"; }
  th[aria-sort=descending]::after { content: " ↓"; }
  .number { text-align: right; white-space: nowrap; } .text { min-width: 9em; }
  tr.pare-lit { background: var(--lit); }
  pre { background: var(--mark); padding: 12px 14px; overflow-x: auto; border-radius: 6px;
    font-size: 13px; } pre code { overflow-wrap: normal; }
  details { margin: 8px 0; } summary { cursor: pointer; color: var(--link); }
  dt { font-weight: 600; } dd { margin: 0 0 6px; }
  figure { margin: 16px 0; } figure svg { max-width: 100%; height: auto; display: block; }
  .narrow { display: none; }
  @media (max-width: 760px) { .wide { display: none; } .narrow { display: block; }
    body { padding: 0 14px; margin-top: 18px; } }
  [data-pare-figure] [tabindex] { cursor: pointer; }
  .pare-selected { fill: none; stroke: var(--ink); stroke-width: 2; pointer-events: none; }
  .pare-chosen { fill: none; stroke: var(--ring); stroke-width: 2; stroke-dasharray: 4 3;
    pointer-events: none; }
  .choice { background: var(--mark); border-radius: 6px; padding: 10px 16px; margin: 12px 0; }
  .choice label { display: grid; grid-template-columns: 6em minmax(0, 260px) 4em; gap: 10px;
    align-items: center; } .choice input { width: 100%; }
  [data-pare-selection] { min-height: 5em; border-left: 3px solid var(--line); padding-left: 12px;
    margin: 12px 0; font-size: 13px; }
  [data-pare-selection] dl { display: flex; flex-wrap: wrap; gap: 2px 18px; max-width: none; }
  [data-pare-selection] dd { margin: 0; } [hidden] { display: none !important; }
  [data-pare-sql] textarea { width: 100%; font: 13px/1.5 "DejaVu Sans Mono", ui-monospace, monospace;
    color: var(--ink); background: var(--paper); border: 1px solid var(--line); padding: 8px; }
  [data-pare-sql] select { max-width: 100%; } .wrong { color: var(--ring); white-space: pre-wrap; }
  @media print { :root { --paper: #ffffff; --ink: #000000; --soft: #333333; --mark: #f4f4f4; }
    nav, form, [data-pare-selection], [data-pare-sql], [open] > summary { display: none; }
    details:not([open]) > summary::after { content: " (folded, so not printed: open it first)"; }
    body { max-width: none; }
    .scroll { overflow: visible; } table { font-size: 9px; } thead { display: table-header-group; }
    tr, figure, pre { break-inside: avoid; } h2, h3 { break-after: avoid; }
    pre { white-space: pre-wrap; } }
`;
