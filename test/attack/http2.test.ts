/** A short form of `npm run attack`. */
import { attackBriefly } from './attack-briefly.js';
import { HTTP2_ATTACKS } from './attacks/http2.js';

attackBriefly('http2', HTTP2_ATTACKS);
