/** What the generate endpoints take and respond with: plain JSON values by name. */

/** A single value; integers beyond 2^53 are bigint. */
export type GenerateScalar = string | number | bigint | boolean;

/** Values of one tensor: a single one, or a list. */
export type GenerateValue = GenerateScalar | readonly GenerateScalar[];

/** A request to a generate endpoint. */
export interface GenerateCall {
  readonly modelName: string;
  readonly modelVersion?: string;
  readonly id?: string;
  /** Inputs by name; what is not an input of the model becomes a parameter of the request. */
  readonly values: Readonly<Record<string, GenerateValue>>;
  readonly parameters?: Readonly<Record<string, GenerateScalar>>;
}

/** One response of the model: outputs, parameters, `id`, `model_name` and `model_version` by name. */
export type GenerateResult = Readonly<Record<string, GenerateValue>>;

/** One event of a stream: a response, or an error; responses may follow an error. */
export type GenerateEvent =
  | { readonly result: GenerateResult; readonly error?: undefined }
  | { readonly error: string; readonly result?: undefined };
