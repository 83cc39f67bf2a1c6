"""How each verb is carried out, for every kind alike."""
