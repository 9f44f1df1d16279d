/** `triton repo`: picks one of its own subcommands and loads only that. */
import type { Command } from './main.js';

const SUBCOMMANDS: Readonly<Record<string, { summary: string; load(): Promise<{ run: Command }> }>> = {
  init: { summary: 'make the example repository', load: () => import('./repo-init.js') },
  add: {
    summary: 'lay an .onnx file out as a model, or make a Python model to start from',
    load: () => import('./repo-add.js'),
  },
  fetch: { summary: 'download published models by name', load: () => import('./repo-fetch.js') },
  list: { summary: 'list the models of repositories', load: () => import('./repo-list.js') },
  show: { summary: 'show everything about one model', load: () => import('./repo-show.js') },
  fmt: { summary: 'bring configurations into their canonical form', load: () => import('./repo-fmt.js') },
  validate: { summary: 'check a repository without a server', load: () => import('./repo-validate.js') },
};

/** Runs `triton repo SUBCOMMAND ...`; 2 for an unknown or missing subcommand. */
export const run: Command = async (args) => {
  const [name, ...rest] = args;
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    (name === undefined ? process.stderr : process.stdout).write(usage());
    return name === undefined ? 2 : 0;
  }
  const subcommand = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined;
  if (subcommand === undefined) {
    process.stderr.write(`triton repo: '${name}' is not a subcommand. 'triton repo --help' lists them.\n`);
    return 2;
  }
  return (await subcommand.load()).run(rest);
};

function usage(): string {
  const width = Math.max(...Object.keys(SUBCOMMANDS).map((name) => name.length));
  const rows = Object.entries(SUBCOMMANDS).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return `usage: triton repo SUBCOMMAND [arguments]\n\n${rows.join('\n')}\n\n  triton repo SUBCOMMAND --help shows more\n`;
}
