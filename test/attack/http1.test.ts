/** A short form of `npm run attack`. */
import { attackBriefly } from './attack-briefly.js';
import { HTTP1_ATTACKS } from './attacks/http1.js';

attackBriefly('http1', HTTP1_ATTACKS);
