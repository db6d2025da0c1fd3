/** Keys that every test server is started with. */
export const projectKey = 'phc_endToEndProjectKey0123456789';
export const personalKey = 'phx_endToEndPersonalKey0123456789';
