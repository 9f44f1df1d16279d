import { readdirSync, rmSync } from 'node:fs';
import { temporaryDirectory } from './temporary-directory.js';

/** What programs under test note of themselves: files in a directory, named by what happened and the process that it happened to. */
export interface Notes {
  /** The directory. */
  readonly path: string;
  /** Lines of Python: `NOTES` is the directory, `note(name, text)` leaves a note. They need `import os`. */
  readonly python: string;
  /** Path of something in the directory. */
  file(name: string): string;
  /** Ids of the processes that left a note of this name. */
  noted(name: string): number[];
  /** Removes the notes of this name. */
  forget(name: string): void;
  /** Removes the directory. */
  remove(): void;
}

/** Makes a directory for notes. */
export function makeNotes(): Notes {
  const { path, file, remove } = temporaryDirectory();
  const noted = (name: string): number[] =>
    readdirSync(path).flatMap((note) => (note.startsWith(`${name}-`) ? [Number(note.slice(name.length + 1))] : []));
  return {
    path,
    python: `NOTES = ${JSON.stringify(path)}
def note(name, text=""):
    with open(os.path.join(NOTES, "%s-%d" % (name, os.getpid())), "w") as file:
        file.write(str(text))
`,
    file,
    noted,
    forget: (name) => {
      for (const pid of noted(name)) rmSync(file(`${name}-${pid}`));
    },
    remove,
  };
}
