/** Name of the plugin's script in stack traces. */
export const scriptName = 'index.js';
