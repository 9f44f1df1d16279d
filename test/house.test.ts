/**
 * The map of ARCHITECTURE.md is true: each room of src/ imports only from the rooms that its table lists, and no two parts of
 * a directory import each other. The table is the only list; this test reads it.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const ROOT = path.resolve(import.meta.dirname, '../..');
const SOURCE = path.join(ROOT, 'src');

/** An import of one file of src/ by another; both relative to src/. */
interface Import {
  readonly from: string;
  readonly to: string;
}

const IMPORTS = imports();
const ROOMS = rooms();

test('every directory of src/ is a room of ARCHITECTURE.md, and every room is there', () => {
  const directories = readdirSync(SOURCE, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  assert.deepEqual(directories.map(({ name }) => name).sort(), [...ROOMS.keys()].sort());
});

test('a room imports only what ARCHITECTURE.md allows it, and only from rooms above it in the table', () => {
  const order = [...ROOMS.keys()];
  for (const [room, allowed] of ROOMS) {
    for (const other of allowed)
      assert.ok(order.indexOf(other) < order.indexOf(room), `${room} may not come before ${other}`);
  }
  const wrong = IMPORTS.filter(({ from, to }) => {
    const [room, other] = [roomOf(from), roomOf(to)];
    return room !== other && ROOMS.has(room) && !ROOMS.get(room)?.has(other);
  });
  assert.deepEqual(wrong.map(arrow), []);
});

test('no two parts of a directory import each other', () => {
  // A directory's own files are one part of it, each directory in it is another.
  const arrows = new Map<string, Import>();
  for (const each of IMPORTS) {
    const [from, to] = [each.from.split('/'), each.to.split('/')];
    const depth = from.findIndex((part, i) => part !== to[i]);
    const parent = from.slice(0, depth).join('/');
    const part = (names: readonly string[]): string => (depth === names.length - 1 ? '.' : names[depth]!);
    if (parent !== '') arrows.set(`${parent}: ${part(from)} -> ${part(to)}`, each);
  }
  const mutual = [...arrows].flatMap(([key, each]) => {
    const [, parent, from, to] = /^(.*): (.*) -> (.*)$/.exec(key) as unknown as string[];
    const back = arrows.get(`${parent}: ${to} -> ${from}`);
    return from! < to! && back !== undefined ? [`${parent}: ${arrow(each)} and ${arrow(back)}`] : [];
  });
  assert.deepEqual(mutual, []);
});

/** The table of ARCHITECTURE.md: `| `room/` | what | `base`, `protocol` |`. */
function rooms(): ReadonlyMap<string, ReadonlySet<string>> {
  const text = readFileSync(path.join(ROOT, 'ARCHITECTURE.md'), 'utf8');
  const rows = [...text.matchAll(/^\| `([a-z]+)\/` \| .* \| ([^|]*) \|$/gm)];
  assert.ok(rows.length > 10, 'ARCHITECTURE.md has no table of rooms');
  return new Map(
    rows.map(([, room, names]) => [room!, new Set([...names!.matchAll(/`([a-z]+)`/g)].map(([, name]) => name!))]),
  );
}

/** All imports between files of src/, those of types and dynamic ones too; tests are left out, they may import anything. */
function imports(): readonly Import[] {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.includes('.test.'),
  );
  return files.flatMap((from) => {
    const text = readFileSync(path.join(SOURCE, from), 'utf8');
    const specifiers = text.matchAll(/(?:\bfrom|\bimport|\bimport\(|\bnew URL\()\s*'(\.[^']*\.js)'/g);
    return [...specifiers].map(([, to]) => ({ from, to: path.posix.join(path.posix.dirname(from), to!) }));
  });
}

function roomOf(file: string): string {
  return file.includes('/') ? file.slice(0, file.indexOf('/')) : '';
}

function arrow({ from, to }: Import): string {
  return `${from} -> ${to}`;
}

/** What ARCHITECTURE.md calls a file or a directory: relative to src/ or to the project, in the table of rooms to the room. */
test('every file and directory that ARCHITECTURE.md names is there', () => {
  const lines = readFileSync(path.join(ROOT, 'ARCHITECTURE.md'), 'utf8').split('\n');
  const missing = lines.flatMap((line) => {
    const room = /^\| `([a-z]+)\/` \|/.exec(line)?.[1] ?? '';
    const names = [...line.matchAll(/`([a-zA-Z][\w./-]*(?:\.ts|\.js|\.py|\/))`/g)].map(([, name]) => name!);
    return names.filter((name) => {
      const places = [path.join(SOURCE, name), path.join(ROOT, name), path.join(SOURCE, room, name)];
      return !name.includes('NAME') && !places.some((place) => existsSync(place));
    });
  });
  assert.deepEqual(missing, []);
});
