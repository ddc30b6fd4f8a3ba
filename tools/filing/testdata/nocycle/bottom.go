package nocycle

const limit = 8
