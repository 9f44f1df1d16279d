/**
 * The one form in which every command writes its options. A table of such entries is what the command line is read
 * with, what the help text is printed from, and what the documentation is checked against.
 */

/** How an option stood on the command line. */
export interface Occurrence {
  /** As the user knows it: `--http-port`, or `-p` when that letter was used. */
  readonly label: string;
  /** '' for a flag. */
  readonly value: string;
}

/** What an option says of itself. */
export interface OptionDescription {
  /** Long name without dashes; '' when only the letter exists. */
  readonly name: string;
  /** One-letter form without its dash. */
  readonly short?: string;
  /** Heading in the help text. */
  readonly group?: string;
  /** Whole sentences. The default is added to them. */
  readonly help: string;
  /** The default in words, where the value itself would not be understood. */
  readonly default?: string;
  /** The option may be given several times, and every occurrence counts. */
  readonly repeatable?: boolean;
  /** The option still works; the help text lists it last. */
  readonly deprecated?: boolean;
  /** The help text leaves the option out. */
  readonly hidden?: boolean;
  /** The command cannot work without it (commands that commander reads). */
  readonly required?: boolean;
  /** Why the option changes nothing here, and what to use instead; the server logs it. */
  readonly note?: string;
}

/** One option of a command. `C` is what the command line is read into. */
export interface Option<C> extends OptionDescription {
  /** Placeholder of the value; in brackets when the value may be left out; absent for a flag. */
  readonly argument?: string;
  /** Group and member that the value goes to, for the default in the help text. */
  readonly into?: readonly [group: string, member: string];
  /** Checks the value and puts it in its place. Throws an OptionError for a value that cannot be taken. */
  take(given: Occurrence, context: C): void;
}

/** A context whose options stand in groups. */
export interface OptionContext {
  readonly options: object;
}

/** `[group, member]` pairs of grouped options whose members can hold a `T`. */
export type Field<O, T> = {
  [G in keyof O & string]: {
    [K in keyof O[G] & string]: T extends O[G][K] ? readonly [group: G, member: K] : never;
  }[keyof O[G] & string];
}[keyof O & string];

/** An option without a value that does something of its own. */
export interface Flag<C> extends OptionDescription {
  set(context: C, given: Occurrence): void;
}

/** An option without a value that makes a member true. */
export interface Switch<C extends OptionContext> extends OptionDescription {
  /** The member that becomes true. */
  readonly into: Field<C['options'], true>;
}

/** An option whose value goes to one member. */
export interface Stored<C extends OptionContext, T> extends OptionDescription {
  readonly argument: string;
  parse(value: string, given: Occurrence): T;
  readonly into: Field<C['options'], NoInfer<T>>;
}

/** An option whose value does something of its own. */
export interface Handled<C, T> extends OptionDescription {
  readonly argument: string;
  parse(value: string, given: Occurrence): T;
  set(context: C, value: NoInfer<T>, given: Occurrence): void;
}

/** The ways to write an option of a command whose command line is read into a `C`. */
export interface OptionMaker<C extends OptionContext> {
  /** A value that goes to one place. */
  option<T>(form: Stored<C, T> | Handled<C, T>): Option<C>;
  /** An option without a value. */
  flag(form: Flag<C> | Switch<C>): Option<C>;
}

/** Makes the options of one command. */
export function optionMaker<C extends OptionContext>(): OptionMaker<C> {
  const store = (context: C, [group, member]: readonly [string, string], value: unknown): void => {
    (context.options as Record<string, Record<string, unknown>>)[group]![member] = value;
  };
  return {
    option: (form) => ({
      ...describe(form),
      argument: form.argument,
      take(given, context) {
        const value = form.parse(given.value, given);
        if ('into' in form) store(context, form.into, value);
        else form.set(context, value, given);
      },
    }),
    flag: (form) => ({
      ...describe(form),
      take(given, context) {
        if ('into' in form) store(context, form.into, true);
        else form.set(context, given);
      },
    }),
  };
}

/** The description alone. A flag's `into` is left out: that it is false without the flag need not be said. */
function describe(form: OptionDescription & { readonly argument?: string; readonly into?: unknown }) {
  const { name, short, group, help, repeatable, deprecated, hidden, required, note, argument, into } = form;
  const given = { short, group, default: form.default, repeatable, deprecated, hidden, required, note };
  const kept = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const place = into === undefined || argument === undefined ? {} : { into: into as readonly [string, string] };
  return { name, help, ...kept, ...place };
}

/** `--name`, or `-x` for an option that has only a letter. */
export function labelOf({ name, short }: OptionDescription): string {
  return name === '' ? `-${short}` : `--${name}`;
}

/** The members of grouped options while the command line is read. */
export type OptionsDraft<O> = { readonly [G in keyof O]: { -readonly [K in keyof O[G]]: O[G][K] } };

/** Grouped options that nothing changes any more: the object and its groups are frozen. */
export function freezeGroups<O extends object>(options: O): Readonly<O> {
  for (const group of Object.values(options)) Object.freeze(group);
  return Object.freeze(options);
}
