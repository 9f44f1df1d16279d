/**
 * A table of the start-up log as lines, each ending in a newline. `width` is that of the terminal (500 without one):
 * every column starts with an equal share of it; columns that need less give the rest in equal parts to the wider ones;
 * what is longer than its column is wrapped hard. A newline in a cell starts a new line of the cell.
 */
export function renderTable(columns: readonly string[], rows: readonly (readonly string[])[], width: number): string {
  const all = [columns, ...rows];
  const widths = columnWidths(all, columns.length, width);
  const border = `+${widths.map((w) => '-'.repeat(w + 2)).join('+')}+\n`;
  const [head = '', ...body] = all.map((row) => renderRow(row, widths));
  return `${border}${head}${border}${body.join('')}${border}`;
}

function columnWidths(rows: readonly (readonly string[])[], columns: number, width: number): number[] {
  const need = new Array<number>(columns).fill(0);
  for (const row of rows) {
    row.forEach((cell, column) => {
      for (const line of cell.split('\n')) need[column] = Math.max(need[column] as number, line.length);
    });
  }
  const share = new Array<number>(columns).fill(Math.max(Math.floor((width - (3 * columns + 1)) / columns), 1));
  const order = need.map((_, column) => column).sort((a, b) => (need[a] as number) - (need[b] as number));
  order.forEach((column, position) => {
    const rest = (share[column] as number) - (need[column] as number);
    if (rest <= 0) return;
    const wider = order.slice(position + 1);
    for (const other of wider) share[other] = (share[other] as number) + rest / wider.length;
    share[column] = need[column] as number;
  });
  return share.map(Math.floor);
}

function renderRow(row: readonly string[], widths: readonly number[]): string {
  const cells = row.map((cell, column) => wrap(cell, Math.max(widths[column] as number, 1)));
  // Cells that wrap add their lines up instead of standing side by side: Triton's tables end rows with empty lines.
  let height = 1;
  for (const { length } of cells) if (length > height) height += length - 1;
  let text = '';
  for (let line = 0; line < height; line++) {
    text += `|${cells.map((lines, column) => ` ${(lines[line] ?? '').padEnd(widths[column] as number)} `).join('|')}|\n`;
  }
  return text;
}

function wrap(cell: string, width: number): string[] {
  return cell.split('\n').flatMap((line) => {
    const parts: string[] = [];
    for (let start = 0; start < Math.max(line.length, 1); start += width) parts.push(line.slice(start, start + width));
    return parts;
  });
}
