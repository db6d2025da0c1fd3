/** The plugin's script in stacks. */
export const scriptName = 'index.js';
