/** `triton repo`: picks one of its own subcommands and loads only that. */
import { type Command, type CommandList, runCommand } from '../frame/command.js';

const COMMANDS: CommandList = {
  init: { summary: 'make the example repository', load: () => import('./init.js') },
  add: {
    summary: 'lay an .onnx file out as a model, or make a Python model to start from',
    load: () => import('./add.js'),
  },
  fetch: { summary: 'download published models by name', load: () => import('./fetch.js') },
  list: { summary: 'list the models of repositories', load: () => import('./list.js') },
  show: { summary: 'show everything about one model', load: () => import('./show.js') },
  fmt: { summary: 'bring configurations into their canonical form', load: () => import('./fmt.js') },
  validate: { summary: 'check a repository without a server', load: () => import('./validate.js') },
};

/** Runs `triton repo SUBCOMMAND ...`; 2 for an unknown or missing subcommand. */
export const run: Command = (args) =>
  runCommand({ name: 'triton repo', summary: 'Make, look at and check model repositories.', commands: COMMANDS }, args);
