declare module '@faker-js/faker/locale/en.js' {
  const faker: object;
  export default faker;
}
