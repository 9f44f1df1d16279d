/** Bearer tokens: asked for when they are needed, kept until shortly before they expire. */
import { readText, type StoreCall } from './store-request.js';

/** Gives a valid token. */
export type TokenSource = () => Promise<string>;

/** Seconds before its end at which a token is not used any more. */
const MARGIN_S = 120;

/** Keeps what `ask` brings: an OAuth token response, `{"access_token", "expires_in"}`. */
export function keptToken(ask: () => Promise<string>): TokenSource {
  let token = '';
  let end = 0;
  return async () => {
    if (performance.now() < end) return token;
    const answer = JSON.parse(await ask()) as { access_token?: unknown; expires_in?: unknown };
    if (typeof answer.access_token !== 'string') throw new Error('the token service sent no access token');
    token = answer.access_token;
    end = performance.now() + (Number(answer.expires_in ?? 0) - MARGIN_S) * 1000;
    return token;
  };
}

/** Posts a form to a token service. */
export function postForm(url: string, form: Readonly<Record<string, string>>): Promise<string> {
  const call: StoreCall = {
    url,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(form).toString(),
  };
  return readText(() => call);
}
